import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { Settings } from '../contract/settings.ts';
import type { Tool } from '../contract/tool.ts';

/**
 * The property of an agent that contains its settings. A program and the module with its agents may load
 * different copies of this package, and `Symbol.for` gives all copies the same symbol. Increase the number
 * when `Settings` changes in a way that an older copy cannot read.
 */
const settingsKey = Symbol.for('millrace.agent.settings.1');

/** Adds the settings to an agent. A copy of the agent with `{ ...agent }` does not have them. */
export function registerSettings(agent: Agent, settings: Settings): void {
  Object.defineProperty(agent, settingsKey, { value: settings });
}

/**
 * Returns the settings of an agent, for hand-offs, steps and replays. Throws if `createAgent` did not create
 * the agent.
 */
export function settingsOf(agent: Agent): Settings {
  const { [settingsKey]: settings } = agent as { readonly [settingsKey]?: Settings };
  if (settings === undefined) throw notCreatedHere(agent.name);
  return settings;
}

function notCreatedHere(name: string): AgentError {
  const message = `Cannot use agent ${name}: it was not created with createAgent of this version of @millrace/agent`;
  return new AgentError('bad_option', message, { agent: name });
}

/**
 * The agents that may drive a session, by name: the agent that the caller runs, and all agents that hand-offs
 * can reach.
 */
export type AgentRegistry = ReadonlyMap<string, Settings>;

/** Returns the settings of the agent that currently drives the session. */
export function activeSettings(
  registry: AgentRegistry,
  root: Settings,
  name: string | undefined,
): Settings {
  const settings = name === undefined ? root : registry.get(name);
  if (settings === undefined) throw unknownAgent(name ?? '', registry);
  return settings;
}

/**
 * Returns a function that copies settings with this `whileAsking`. For the same settings, the function always
 * returns the same copy.
 */
export function settingsWhileAsking(
  whileAsking: Settings['whileAsking'],
): (settings: Settings) => Settings {
  const adapted = new Map<Settings, Settings>();
  return (settings) => {
    const known = adapted.get(settings) ?? { ...settings, whileAsking };
    adapted.set(settings, known);
    return known;
  };
}

/**
 * Changes the settings of an agent and of all agents that its hand-offs can reach. For the same settings, `change`
 * is called once.
 */
export function adaptAgents(root: Settings, change: (settings: Settings) => Settings): Settings {
  const known = new Map<Settings, Settings>();
  const adapt = (settings: Settings): Settings => {
    const found = known.get(settings);
    if (found !== undefined) return found;
    const changed = change(settings);
    const tools = [...changed.tools].map(([name, tool]) => [name, withTarget(tool)] as const);
    const adapted: Settings = { ...changed, tools: new Map(tools) };
    known.set(settings, adapted);
    return adapted;
  };
  const withTarget = (tool: Tool): Tool => {
    const { handsOff } = tool;
    if (handsOff === undefined) return tool;
    const to = () => {
      const next = handsOff.to();
      const agent = { ...next };
      registerSettings(agent, adapt(settingsOf(next)));
      return agent;
    };
    return { ...tool, handsOff: { ...handsOff, to } };
  };
  return adapt(root);
}

function unknownAgent(name: string, registry: AgentRegistry): AgentError {
  const names = [...registry.keys()].join(', ');
  const message = `Cannot continue: the session was handed off to agent ${name}, but only these agents are known: ${names}`;
  return new AgentError('unknown_agent', message, { agent: name });
}
