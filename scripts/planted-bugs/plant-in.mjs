/** @typedef {{ name: string, patches: { file: string, find: string, replace: string }[] }} Bug */

/**
 * A list of bugs in the files of a folder, and the function that adds to it: `plant(file, [[name, [find, replace], …], …])`. A
 * patch of another file of the folder names it: `[find, replace, file]`.
 */
export const plantIn = (folder) => {
  /** @type {Bug[]} */
  const bugs = [];
  const plant = (file, entries) => {
    for (const [name, ...patches] of entries) {
      bugs.push({
        name,
        patches: patches.map(([find, replace, other = file]) => ({
          file: `${folder}/${other}`,
          find,
          replace,
        })),
      });
    }
  };
  return { bugs, plant };
};
