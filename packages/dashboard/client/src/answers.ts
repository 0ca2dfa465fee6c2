/** What the server answers. The same types hold for its routes, so that an answer that changes does not compile here. */
export type * from "../../src/answers.ts";
