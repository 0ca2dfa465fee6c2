/**
 * How much later than its nominal time a run begins: the same for everybody who asks, spread evenly from 0 to `jitterMs`, and
 * another for each job and time. Never as late as the time after it.
 */
export const jitteredTime = (
  id: string,
  nominalAt: number,
  jitterMs: number,
  nextNominalAt: number | null,
): number => {
  if (jitterMs === 0) return nominalAt;
  const fireAt = nominalAt + (hash(`${id} ${nominalAt}`) % jitterMs);
  return nextNominalAt === null ? fireAt : Math.min(fireAt, nextNominalAt - 1);
};

/** FNV-1a, then the final steps of MurmurHash3, without which similar texts give similar numbers. */
const hash = (text: string): number => {
  let mixed = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  }
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};
