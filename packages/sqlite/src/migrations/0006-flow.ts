import type { Tables } from "../tables.ts";

/** Groups and rules. A job that uses neither has null in all of these columns. */
export const addFlow = ({ job }: Tables): string[] => [
  `ALTER TABLE ${job} ADD COLUMN group_key TEXT`,
  `ALTER TABLE ${job} ADD COLUMN ordered TEXT`,
  `ALTER TABLE ${job} ADD COLUMN slots INTEGER`,
];
