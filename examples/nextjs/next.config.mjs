export default {
  // They load drivers and files of their own at run time, so they must not be bundled.
  serverExternalPackages: ["leasehold", "@leasehold/sqlite", "@leasehold/postgres", "@leasehold/dashboard"],
};
