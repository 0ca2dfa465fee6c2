import { describeCommands } from "./testing/command-suite.ts";

describeCommands("sqlite");
