import { createJobHandler } from "../create-job-handler.ts";

export const announceAlbum = createJobHandler({
  typeName: "announce-album",
  process: async ({ job, services }) => {
    services.mailer.send("ada@example.com", `New album: ${job.input.url}`);
    return null;
  },
});
