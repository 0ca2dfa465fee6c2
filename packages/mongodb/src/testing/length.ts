/** `npm run test:mongodb` runs the suites in full. `npm test` runs a part of them: the test server is slow. */
export const isFull: boolean = process.env["LEASEHOLD_FULL_MONGODB"] !== undefined;
