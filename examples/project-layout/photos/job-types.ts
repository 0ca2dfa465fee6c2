import { defineJobTypes } from "leasehold";
import { z } from "zod";

export const photoJobTypes = defineJobTypes({
  "resize-photo": {
    input: z.object({ photo: z.string() }),
    output: z.object({ bytes: z.number() }),
    timeoutMs: 60_000,
  },
  "publish-album": {
    input: z.object({ album: z.string() }),
    output: z.object({ url: z.string() }),
    blockers: { anyNumberOf: ["resize-photo"] },
    continuesTo: ["announce-album"],
  },
  "announce-album": { input: z.object({ url: z.string() }), internal: true },
});
