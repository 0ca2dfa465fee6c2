import { defineJobTypes } from "leasehold";
import { z } from "zod";

// #region module
export const mailJobTypes = defineJobTypes({
  "send-mail": {
    input: z.object({ to: z.email(), text: z.string() }),
    retention: { completedMs: 86_400_000 },
  },
});
// #endregion
