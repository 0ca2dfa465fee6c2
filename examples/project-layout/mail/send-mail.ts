import { createJobHandler } from "../create-job-handler.ts";

// #region handler
export const sendMail = createJobHandler({
  typeName: "send-mail",
  maxAttempts: 5,
  process: async ({ job, services }) => {
    services.mailer.send(job.input.to, job.input.text);
    return null;
  },
});
// #endregion
