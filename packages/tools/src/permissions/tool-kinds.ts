/** What a tool does. `run` executes a `command`. `free` needs no permission. `other` is unknown. */
export type ToolKind = PathKind | 'run' | 'free' | 'other';

/** The tool takes a `path` and reads it, searches everything below it, or changes it. */
export type PathKind = 'read' | 'search' | 'write';

/** The kinds of the tools in this package. */
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

/** Returns the names of all tools of a kind, sorted. */
export function toolsOfKind(
  kind: ToolKind,
  own: Readonly<Record<string, ToolKind>> = {},
): readonly string[] {
  const names = new Set([...Object.keys(toolKinds), ...Object.keys(own)]);
  return [...names].filter((name) => toolKindOf(name, own) === kind).sort();
}
