/** Vite writes style sheets to a file of their own. */
declare module "*.css";
