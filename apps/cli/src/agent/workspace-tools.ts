import { readOutputTool, type Tool } from '@millrace/agent';
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

/** Tools that look and change nothing. */
export function readingTools(
  workspace: Workspace,
  policy: () => PermissionPolicy,
): readonly Tool[] {
  return [
    readTool(workspace),
    lsTool(workspace),
    searchTool(grepTool, workspace, policy),
    searchTool(globTool, workspace, policy),
    readOutputTool(),
  ];
}

/** Tools that change files and run programs. */
export function changingTools(workspace: Workspace): readonly Tool[] {
  return [editTool(workspace), writeTool(workspace), bashTool({ workspace })];
}

/** What is denied does not exist for a search, also where it was denied after the tool was made. */
function searchTool(
  make: (options: SearchToolOptions) => Tool,
  workspace: Workspace,
  policy: () => PermissionPolicy,
): Tool {
  const tool = make({ workspace });
  const now = () => make({ workspace, exclude: policy().deniedPaths(tool.name) });
  return { ...tool, execute: (input, context) => now().execute(input, context) };
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
