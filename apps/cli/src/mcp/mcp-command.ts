import { createServer, createToken, type LoopAgent, toolCallProvider } from '@millrace/server';
import { openAgent } from '../command/open-agent.ts';
import { resolveWorkFolder } from '../command/paths.ts';
import type { ChosenModel } from '../contract/agent.ts';
import type { McpArgs } from '../contract/args.ts';
import { ModelError } from '../contract/errors.ts';
import type { Extensions } from '../contract/extensions.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { isListed, slashPrompts } from '../extensions/slash-prompts.ts';
import { chooseModel } from '../models/choose-model.ts';
import { Output } from '../print/output.ts';
import { Stores } from '../store/open-stores.ts';
import { oneLine } from '../text/cells/printable.ts';
import { readLimitedLines } from '../text/limit-lines.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { StdioBridge } from './stdio-bridge.ts';

/** Maximum length of a message of the client, in bytes. */
const maxLineBytes = 2 ** 20;
const maxProblemLength = 500;
/** Tools that need a model or the chat. Clients of MCP have their own. */
const ownTools: ReadonlySet<string> = new Set(['ask_user', 'task', 'todo']);

/**
 * Offers the agent and the tools of a folder to a client of MCP, until the client closes the input. Standard
 * output carries only messages of the protocol.
 */
export async function mcpCommand(args: McpArgs, host: Host): Promise<number> {
  const { stdin, stdout, stderr, signal, env } = host;
  const onProblem = (problem: string) =>
    writeText(stderr, `${oneLine(problem, maxProblemLength)}\n`);
  const stores = new Stores(env);
  const cwd = await resolveWorkFolder(args, host.cwd);
  let hasModel = true;
  const opened = await openAgent({
    ...{ args, host, stores, cwd, onProblem, name: 'millrace mcp', isServed: true },
    // A run that ended with its process continues in the next one.
    onInterrupted: 'retry',
    chooseModel: async (config, place) => {
      const chosen = await chooseModel({ config, ...place }).catch((error: unknown) => {
        if (!(error instanceof ModelError)) throw error;
        onProblem(`Only the tools are offered, without an agent: ${error.message}`);
        return undefined;
      });
      hasModel = chosen !== undefined;
      return chosen ?? withoutModel;
    },
  });
  const { built, log } = opened;
  for (const warning of opened.warnings) onProblem(warning);
  const agent: LoopAgent = {
    ...{ type: 'loop', name: agentName, agent: built.agent },
    description: `${built.chosen.label}. A coding agent that reads and changes files in ${cwd}, and runs programs there`,
  };
  const tools: LoopAgent = {
    ...{ type: 'loop', name: 'tools', agent: built.with({ chosen: withoutModel }).agent },
    offers: built.tools.filter(({ name }) => !ownTools.has(name)),
  };
  const token = createToken();
  const server = createServer({
    ...{ tokens: [token], log, agents: hasModel ? [agent, tools] : [tools] },
    mcp: { prompts: promptsOf(built.extensions), instructions: `The folder is ${cwd}.` },
    onDiagnostic: onProblem,
  });
  // The first request starts the server. It must know its agents before it can offer a session.
  const authorization = `Bearer ${token}`;
  await server.fetch(new Request('http://localhost/agents', { headers: { authorization } }));
  const ended = new AbortController();
  const output = new Output(stdout, { onFailure: () => ended.abort() });
  const bridge = new StdioBridge({
    ...{ fetch: server.fetch, token },
    write: (line) => output.writeData(`${line}\n`),
    adopt: async (session) => {
      if (hasModel && (await log.info(session)) !== undefined)
        await server.sessions.adopt(session, { agent: agentName });
    },
  });
  const lines = readLimitedLines(stdin, {
    ...{ maxBytes: maxLineBytes, onProblem },
    signal: AbortSignal.any([signal, ended.signal]),
  });
  try {
    for await (const line of lines) await bridge.handle(line);
  } finally {
    lines.close();
    await server.close();
    await bridge.settled();
    await built.close();
    await stores.close();
  }
  return exitCodes.done;
}

const agentName = 'millrace';

const withoutModel: ChosenModel = {
  ...{ provider: toolCallProvider(), label: 'no model', why: '', isDemo: false },
};

/** Returns the slash commands and the skills as prompts. */
function promptsOf(extensions: Extensions) {
  return slashPrompts(extensions)
    .filter(isListed)
    .map(({ name, description, argument, expand }) => ({
      ...{ name: name.replace(/^\//, ''), description },
      ...(argument !== undefined && { arguments: [{ name: 'argument', description: argument }] }),
      get: (given: Readonly<Record<string, string>>) => expand(given['argument'] ?? ''),
    }));
}
