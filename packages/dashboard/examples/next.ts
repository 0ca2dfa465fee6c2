import { dashboard } from "./app-dashboard.ts";

// #region next
export const runtime = "nodejs";
export const dynamic = "force-dynamic";
export const GET = (request: Request): Promise<Response> => dashboard.fetch(request);
export const POST = (request: Request): Promise<Response> => dashboard.fetch(request);
// #endregion
