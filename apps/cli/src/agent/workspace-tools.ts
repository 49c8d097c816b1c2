import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { readOutputTool, type Tool, type ToolContext, type ToolExecution } from '@millrace/agent';
import type { JsonObject, JsonValue } from '@millrace/core';
import {
  type AskUserOptions,
  askUserTool,
  type BackgroundCommands,
  type BashToolOptions,
  bashTool,
  type ChangePreview,
  createWorkspace,
  editTool,
  globTool,
  grepTool,
  judgedPath,
  lsTool,
  type PermissionPolicy,
  type PolicyCall,
  previewChange,
  readTool,
  type SearchToolOptions,
  type Workspace,
  writeTool,
} from '@millrace/tools';

/** Returns the tools that only read. */
export function readingTools(
  workspace: Workspace,
  policies: () => readonly PermissionPolicy[],
  running?: BackgroundCommands | undefined,
): readonly Tool[] {
  return [
    withOutsidePaths(workspace, readTool, 'file'),
    withOutsidePaths(workspace, lsTool, 'folder'),
    searchTool(grepTool, workspace, policies),
    searchTool(globTool, workspace, policies),
    readOutputTool({ running }),
  ];
}

/** Returns the tools that change files and run programs. */
export function changingTools(
  workspace: Workspace,
  commands: Omit<BashToolOptions, 'workspace'> = {},
): readonly Tool[] {
  return [
    withOutsidePaths(workspace, editTool, 'file'),
    withOutsidePaths(workspace, writeTool, 'file'),
    bashTool({ workspace, ...commands }),
  ];
}

/** The keywords of JSON Schema that only limit values. The tools check these limits themselves. */
const limitKeywords: ReadonlySet<string> = new Set([
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'additionalProperties'],
]);
/**
 * The short schema contains a `maximum` up to this value, because a model can exceed it by accident. It omits
 * larger maximums.
 */
const minShownMaximum = 2000;

/**
 * Returns a tool whose schema has no limits that a model never reaches. Each request repeats all
 * schemas. The tool still checks its input with the full schema.
 */
export function withShortSchema(tool: Tool): Tool {
  return tool.strict ? tool : { ...tool, inputSchema: shortSchema(tool.inputSchema) as JsonObject };
}

function shortSchema(schema: JsonValue): JsonValue {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(shortSchema);
  const fields = Object.entries(schema as JsonObject).filter(([key, value]) => {
    if (typeof value === 'object') return true;
    const isLarge = key === 'maximum' && typeof value === 'number' && value > minShownMaximum;
    return !limitKeywords.has(key) && !isLarge;
  });
  return Object.fromEntries(fields.map(([key, value]) => [key, shortSchema(value)]));
}

/**
 * Creates a search tool that hides denied paths. The tool reads the policies on every call, so rules
 * that are added later apply too. They also apply to a search of a folder that contains the workspace.
 */
function searchTool(
  make: (options: SearchToolOptions) => Tool,
  workspace: Workspace,
  policies: () => readonly PermissionPolicy[],
): Tool {
  const makeIn = (root: Workspace) => {
    const tool = make({ workspace: root });
    const currentTool = () => make({ workspace: root, policies: policies() });
    return {
      ...tool,
      execute: (input: unknown, context: ToolContext) => currentTool().execute(input, context),
    };
  };
  return withOutsidePaths(workspace, makeIn, 'folder');
}

/** The `ask_user` tool. Its handler can be replaced while the agent runs. */
export interface Questions {
  readonly tool: Tool;
  setHandler(ask: AskUserOptions['ask'] | undefined): void;
}

export function createQuestions(initial: AskUserOptions['ask'] | undefined): Questions {
  let ask = initial;
  return {
    tool: askUserTool({ ask: async (question, signal) => ask?.(question, signal) }),
    setHandler: (next) => {
      ask = next;
    },
  };
}

/**
 * Lets a file tool work on paths outside of the workspace. The user, or a rule that names the path,
 * must allow this call. The permission check resolves the path to its real path, which decides
 * whether the call is outside. The tool fails if the path leads to a different place when the call
 * runs.
 */
function withOutsidePaths(
  workspace: Workspace,
  make: (workspace: Workspace) => Tool,
  pathKind: 'file' | 'folder',
): Tool {
  const tool = make(workspace);
  const execute = (input: unknown, context: ToolContext): ToolExecution => {
    const real = judgedPath(context.judged ?? '');
    if (real === '' || isInside(workspace, real)) return tool.execute(input, context);
    const isFile = pathKind === 'file';
    const outside = createWorkspace({ root: isFile ? dirname(real) : real });
    const relativeInput = { ...(input as object), path: isFile ? basename(real) : '.' };
    return make(outside).execute(relativeInput, context);
  };
  return { ...tool, execute };
}

/**
 * Returns the change that a call makes to the file that its question is about (`judged`). The call can run in a
 * different folder than `workspace`, for example in the worktree of a sub-agent. The tools work only on the file
 * `judged`, so a file with the same name in `workspace` has no effect on the preview.
 */
export async function previewOf(
  workspace: Workspace,
  call: PolicyCall,
  judged: string | undefined,
): Promise<ChangePreview | undefined> {
  const real = judgedPath(judged ?? '');
  if (real === '') return undefined;
  const here = await previewChange(workspace.boundTo(real), call);
  if (here !== undefined) return here;
  const root = existingFolder(dirname(real));
  const input = { ...(call.input as object), path: relative(root, real) };
  return previewChange(createWorkspace({ root }).boundTo(real), { ...call, input });
}

/** Returns the nearest folder that exists. A call can create the folders below it. */
function existingFolder(path: string): string {
  let folder = path;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function isInside({ root }: Workspace, real: string): boolean {
  return real === root || real.startsWith(join(root, sep));
}
