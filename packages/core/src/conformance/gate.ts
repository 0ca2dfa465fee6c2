/** Lets one piece of a test wait for another without sleeping. */
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
