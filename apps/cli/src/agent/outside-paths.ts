import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import type { Execution, Tool, ToolContext } from '@millrace/agent';
import { createWorkspace, type Workspace } from '@millrace/tools';

/**
 * A tool that takes a path outside of its workspace for what it is: such a call is run only where a person,
 * or a rule that names the path, has allowed it. A link there leads nowhere else all the same.
 */
export function reaching(
  workspace: Workspace,
  make: (workspace: Workspace) => Tool,
  isOf: 'file' | 'folder',
): Tool {
  const tool = make(workspace);
  const execute = (input: unknown, context: ToolContext): Execution => {
    const path = outsidePath(workspace, input);
    if (path === undefined) return tool.execute(input, context);
    const isFile = isOf === 'file';
    const there = createWorkspace({ root: isFile ? dirname(path) : path });
    const placed = { ...(input as object), path: isFile ? basename(path) : '.' };
    return make(there).execute(placed, context);
  };
  return { ...tool, execute };
}

/** The path that was given, where it is outside by its words alone. */
function outsidePath({ root }: Workspace, input: unknown): string | undefined {
  const { path } = (input ?? {}) as { readonly path?: unknown };
  if (typeof path !== 'string') return undefined;
  const absolute = resolve(root, path);
  const inside = relative(root, absolute);
  const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return isOutside ? absolute : undefined;
}
