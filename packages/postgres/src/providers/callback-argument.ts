/** What a function passes to the callback that is its first parameter; of overloads, the last one counts. */
export type CallbackArgument<TFunction> = TFunction extends (
  callback: infer TCallback,
  ...rest: never[]
) => unknown
  ? TCallback extends (argument: infer TArgument, ...rest: never[]) => unknown
    ? TArgument
    : never
  : never;
