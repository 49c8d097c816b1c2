/**
 * Finds groups of files that import each other, directly or through other files. These groups are
 * the strongly connected components, found with Tarjan's algorithm. A file that imports itself is a
 * group of one.
 */
export function importCycles(
  imports: ReadonlyMap<string, readonly string[]>,
): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();

  const visit = (file: string): void => {
    const own = index.size;
    index.set(file, own);
    lowest.set(file, own);
    stack.push(file);
    onStack.add(file);
    for (const target of imports.get(file) ?? []) {
      if (!imports.has(target)) continue;
      if (!index.has(target)) visit(target);
      if (onStack.has(target))
        lowest.set(file, Math.min(lowest.get(file) ?? own, lowest.get(target) ?? own));
    }
    if (lowest.get(file) !== own) return;
    const group = stack.splice(stack.lastIndexOf(file));
    for (const member of group) onStack.delete(member);
    if (group.length > 1 || imports.get(file)?.includes(file)) cycles.push(group.toSorted());
  };

  for (const file of imports.keys()) if (!index.has(file)) visit(file);
  return cycles;
}
