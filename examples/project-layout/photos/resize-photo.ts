import { createJobHandler } from "../create-job-handler.ts";

export const resizePhoto = createJobHandler({
  typeName: "resize-photo",
  process: async ({ job }) => ({ bytes: job.input.photo.length * 1_000 }),
});
