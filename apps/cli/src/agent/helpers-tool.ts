import { type AgentOptions, createAgent, type Tool, type ToolContext } from '@millrace/agent';
import { type IsolatedAgent, type OfferedAgent, subAgentsTool } from '@millrace/tools';
import type { OpenedAgent } from '../extensions/connect-extensions.ts';
import type { SessionHooks } from '../extensions/session-hooks.ts';
import type { IsolatedFolder } from './isolated-folder.ts';

/** The folder in which a sub-agent works: its tools, its permissions and its instructions. */
interface HelperFolder {
  /** The path of a worktree. Undefined for the folder of the session. */
  readonly root?: string | undefined;
  readonly approve: AgentOptions['approve'];
  readonly instructions: string;
  readonly reading: readonly Tool[];
  /** The tools that change files and run programs. Empty in read-only mode. */
  readonly changing: readonly Tool[];
}

interface HelpersOptions extends HelperFolder {
  /** The options that the main agent shares with the sub-agents. */
  readonly common: Omit<AgentOptions, 'tools' | 'instructions' | 'name' | 'approve'>;
  readonly hooks: SessionHooks | undefined;
  /** The sub-agents from files. */
  readonly files: readonly OpenedAgent[];
  /** Returns the common options for a different model. */
  readonly commonFor: (chosen: NonNullable<OpenedAgent['chosen']>) => HelpersOptions['common'];
  /** Creates a git worktree for one call. Undefined if that is not possible. */
  readonly isolate?:
    | ((context: ToolContext) => Promise<HelperFolder & Pick<IsolatedFolder, 'end' | 'close'>>)
    | undefined;
}

const reportInstructions = `You were given one task by another agent. It sees only your last message, and nobody answers questions. End with a report that contains what was asked for, with locations as path:line, and what you could not find out or do.`;
const worktreeInstructions = `This folder is a git worktree of your own. When you report, your changes of files are merged into the folder of the other agent. Do not commit. Files that git ignores are not here.`;

/**
 * Creates the `task` tool, which starts sub-agents. It offers a sub-agent that can only read. If
 * changes are allowed, it also offers a sub-agent with all tools. The sub-agents from files follow.
 */
export function helpersTool(options: HelpersOptions): Tool {
  const { common, hooks, files, commonFor, isolate } = options;
  const create = (name: string, more: Partial<AgentOptions>, folder: HelperFolder) => {
    const { approve, instructions, root } = folder;
    const { tools = [] } = more;
    const own = [instructions, reportInstructions, more.instructions].filter(Boolean).join('\n\n');
    return createAgent({
      ...{ ...common, guardrails: hooks?.subAgentGuardrails(name, root), ...more, approve },
      ...{ name, tools, instructions: own },
    });
  };
  /** Returns an agent for the folder of the session, which can also work in a worktree. */
  const offer = (
    name: string,
    description: string,
    optionsIn: (folder: HelperFolder) => Partial<AgentOptions>,
  ): OfferedAgent => ({
    description,
    agent: create(name, optionsIn(options), options),
    isolate: isolate && ((context) => isolated(isolate(context), name, optionsIn)),
  });
  const isolated = async (
    opening: ReturnType<NonNullable<HelpersOptions['isolate']>>,
    name: string,
    optionsIn: (folder: HelperFolder) => Partial<AgentOptions>,
  ): Promise<IsolatedAgent> => {
    const folder = await opening;
    const instructions = `${folder.instructions}\n\n${worktreeInstructions}`;
    const there = { ...folder, instructions };
    return { ...folder, agent: create(name, optionsIn(there), there) };
  };
  const explore: OfferedAgent = {
    agent: create('explore', { tools: options.reading }, options),
    description: 'Answers questions by reading and searching files. Changes nothing.',
  };
  const worker = offer(
    'worker',
    'Does a task on its own: reads and changes files, runs commands.',
    ({ reading, changing }) => ({ tools: [...reading, ...changing] }),
  );
  const fromFiles = files.map(({ file, chosen }) => {
    const { name, description, text, tools: wanted, isIsolated } = file;
    const offered = offer(name, description, ({ reading, changing }) => {
      const all = [...reading, ...changing];
      const tools = wanted === undefined ? all : all.filter((tool) => wanted.includes(tool.name));
      return { ...(chosen && commonFor(chosen)), tools, instructions: text };
    });
    return [name, { ...offered, isolation: isIsolated ? 'always' : 'on_request' }] as const;
  });
  const agents = {
    explore,
    ...(options.changing.length > 0 && { worker }),
    ...Object.fromEntries(fromFiles),
  };
  return subAgentsTool({ agents });
}
