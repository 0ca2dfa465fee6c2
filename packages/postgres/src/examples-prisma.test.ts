import "../examples/prisma.test.ts";
