import { type Services, withServices } from "./create-job-handler.ts";
import type { AppLeasehold } from "./leasehold.ts";
import { sendMail } from "./mail/send-mail.ts";
import { announceAlbum } from "./photos/announce-album.ts";
import { publishAlbum } from "./photos/publish-album.ts";
import { resizePhoto } from "./photos/resize-photo.ts";

// #region worker
export const defineWorker = (leasehold: AppLeasehold, services: Services["services"]) =>
  leasehold
    .createWorker()
    .use(withServices(services))
    .implementJobType(sendMail)
    .implementJobType(resizePhoto)
    .implementJobType(publishAlbum)
    .implementJobType(announceAlbum);
// #endregion
