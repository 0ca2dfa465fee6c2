/** Vite puts it into a file of its own. */
declare module "*.css";
