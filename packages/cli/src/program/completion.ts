import { Argument, type Command } from "commander";
import type { GlobalOptions, Run } from "../commands/context.ts";
import { filesWanted, shells } from "../completion/scripts.ts";
import { exitCodes } from "../output/exit-codes.ts";

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
      run(async (context) => {
        const { complete } = await import("../completion/complete.ts");
        const { candidates, wanted, start, prefix, files } = complete(program, words);
        const found = [...candidates];
        if (wanted !== undefined) {
          const { candidatesFromStore } = await import("../completion/complete.ts");
          const options = readGlobalOptions(program, words);
          for (const { value, description } of await candidatesFromStore(context, options, wanted, start))
            found.push({ value: `${prefix}${value}`, description });
        }
        if (found.length === 0 && files) context.output.print(filesWanted);
        for (const { value, description } of found) {
          context.output.print(description === "" ? value : `${value}\t${description}`);
        }
        return exitCodes.done;
      }),
    );
};

/** The store that the words name, if they do. They may be half written, so nothing else of them is read. */
const readGlobalOptions = (program: Command, words: readonly string[]): Partial<GlobalOptions> =>
  Object.fromEntries(
    program.options.flatMap((option) => {
      const { long, required } = option;
      if (!required || long === "--timeout") return [];
      const index = words.findIndex((word) => word === long || word.startsWith(`${long}=`));
      const word = words[index];
      const value = word === long ? words[index + 1] : word?.slice(`${long}=`.length);
      return value === undefined ? [] : [[option.attributeName(), value]];
    }),
  );
