import { Argument, type Command } from "commander";
import { shells } from "../completion/scripts.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Run } from "../program.ts";

/** completion, and the hidden command that its scripts call. */
export const addCompletionCommands = (program: Command, run: Run): void => {
  program
    .command("completion")
    .description("print a completion script for your shell")
    .addArgument(new Argument("<shell>", "which shell").choices(shells))
    .addHelpText(
      "after",
      `
To use it:
  bash   eval "$(leasehold completion bash)"            in ~/.bashrc
  zsh    eval "$(leasehold completion zsh)"             in ~/.zshrc, after compinit
  fish   leasehold completion fish | source             in ~/.config/fish/config.fish`,
    )
    .action((shell: (typeof shells)[number]) =>
      run(async ({ output }) => {
        const { completionScript } = await import("../completion/scripts.ts");
        output.print(completionScript(shell));
        return exitCodes.done;
      }),
    );

  program
    .command("__complete [words...]", { hidden: true })
    .allowUnknownOption()
    .helpOption(false)
    .action((words: string[]) =>
      run(async ({ output }) => {
        const { complete } = await import("../completion/complete.ts");
        for (const { value, description } of complete(program, words)) {
          output.print(description === "" ? value : `${value}\t${description}`);
        }
        return exitCodes.done;
      }),
    );
};
