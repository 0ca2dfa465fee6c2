// The servers outlive the tests of one bug; see store-hunt.mjs.
export default function provideServers(project) {
  const url = process.env.LEASEHOLD_PLANTED_BUG_URL;
  project.provide("postgres18Url", url);
  project.provide("postgres15Url", url);
  project.provide("pgBouncerUrl", url);
}
