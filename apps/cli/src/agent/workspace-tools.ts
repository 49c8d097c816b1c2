import { readOutputTool, type Tool, type ToolContext } from '@millrace/agent';
import {
  type AskUserOptions,
  askUserTool,
  bashTool,
  editTool,
  globTool,
  grepTool,
  lsTool,
  type PermissionPolicy,
  readTool,
  type SearchToolOptions,
  type Workspace,
  writeTool,
} from '@millrace/tools';
import { reaching } from './outside-paths.ts';

/** Tools that look and change nothing. */
export function readingTools(
  workspace: Workspace,
  policy: () => PermissionPolicy,
): readonly Tool[] {
  return [
    reaching(workspace, readTool, 'file'),
    reaching(workspace, lsTool, 'folder'),
    searchTool(grepTool, workspace, policy),
    searchTool(globTool, workspace, policy),
    readOutputTool(),
  ];
}

/** Tools that change files and run programs. */
export function changingTools(workspace: Workspace): readonly Tool[] {
  return [
    reaching(workspace, editTool, 'file'),
    reaching(workspace, writeTool, 'file'),
    bashTool({ workspace }),
  ];
}

/** What is denied does not exist for a search, also where it was denied after the tool was made. */
function searchTool(
  make: (options: SearchToolOptions) => Tool,
  workspace: Workspace,
  policy: () => PermissionPolicy,
): Tool {
  const makeIn = (there: Workspace) => {
    const tool = make({ workspace: there });
    const now = () => make({ workspace: there, exclude: policy().deniedPaths(tool.name) });
    return {
      ...tool,
      execute: (input: unknown, context: ToolContext) => now().execute(input, context),
    };
  };
  return reaching(workspace, makeIn, 'folder');
}

/** Questions of the model to the person, as long as somebody is there to answer them. */
export interface Questions {
  readonly tool: Tool;
  answerBy(ask: AskUserOptions['ask'] | undefined): void;
}

export function questions(first: AskUserOptions['ask'] | undefined): Questions {
  let ask = first;
  return {
    tool: askUserTool({ ask: async (question, signal) => ask?.(question, signal) }),
    answerBy: (next) => {
      ask = next;
    },
  };
}
