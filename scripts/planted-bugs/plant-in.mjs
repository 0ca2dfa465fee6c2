/** @typedef {{ name: string, patches: { file: string, find: string, replace: string }[] }} Bug */

/** A list of bugs in the files of a folder, and the function that adds to it: `plant(file, [[name, [find, replace], …], …])`. */
export const plantIn = (folder) => {
  /** @type {Bug[]} */
  const bugs = [];
  const plant = (file, entries) => {
    for (const [name, ...patches] of entries) {
      bugs.push({
        name,
        patches: patches.map(([find, replace]) => ({ file: `${folder}/${file}`, find, replace })),
      });
    }
  };
  return { bugs, plant };
};
