import { createJobHandler } from "../create-job-handler.ts";

export const publishAlbum = createJobHandler({
  typeName: "publish-album",
  process: async ({ job, complete }) => {
    const bytes = job.blockers.reduce((sum, { output }) => sum + output.bytes, 0);
    const url = `/albums/${job.input.album}?photos=${job.blockers.length}&bytes=${bytes}`;
    return complete(({ continueWith }) => continueWith({ typeName: "announce-album", input: { url } }));
  },
});
