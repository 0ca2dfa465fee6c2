/** A promise that somebody else opens. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export const createGate = (): Gate => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
};
