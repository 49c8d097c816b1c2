/** What a tool does with what it is given. */
export type ToolKind = PathKind | 'run' | 'free' | 'other';

/** It takes a `path`: to look at it, to look through all that is below it, or to change it. */
export type PathKind = 'read' | 'search' | 'write';

/** `free` needs nobody's leave; `run` takes a `command`; of `other` nothing is known. */
const toolKinds: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  ls: 'read',
  grep: 'search',
  glob: 'search',
  write: 'write',
  edit: 'write',
  bash: 'run',
  ask_user: 'free',
};

export function toolKindOf(
  tool: string,
  own: Readonly<Record<string, ToolKind>> | undefined,
): ToolKind {
  const named = [own, toolKinds].find((kinds) => kinds !== undefined && Object.hasOwn(kinds, tool));
  return named?.[tool] ?? 'other';
}

/** The tools of a kind, in the order of their names. */
export function toolsOfKind(
  kind: ToolKind,
  own: Readonly<Record<string, ToolKind>> = {},
): readonly string[] {
  const names = new Set([...Object.keys(toolKinds), ...Object.keys(own)]);
  return [...names].filter((name) => toolKindOf(name, own) === kind).sort();
}
