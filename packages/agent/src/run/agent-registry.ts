import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { Settings } from '../contract/settings.ts';

const settingsByAgent = new WeakMap<Agent, Settings>();

export function registerSettings(agent: Agent, settings: Settings): void {
  settingsByAgent.set(agent, settings);
}

/**
 * Returns the settings of an agent, for hand-offs, steps and replays. Throws if `createAgent` did not
 * create it.
 */
export function settingsOf(agent: Agent): Settings {
  const settings = settingsByAgent.get(agent);
  if (settings === undefined) throw notCreatedHere(agent.name);
  return settings;
}

function notCreatedHere(name: string): AgentError {
  const message = `Cannot hand off to ${name}: it was not created with createAgent`;
  return new AgentError('bad_option', message, { agent: name });
}

/**
 * The agents that may drive a session, by name. They are the agent that was called, and all agents that
 * hand-offs can reach.
 */
export type AgentRegistry = ReadonlyMap<string, Settings>;

/** Returns the settings of the agent that currently has the session. */
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
 * Returns a function that copies settings with this `whileAsking`. For the same settings it always
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

function unknownAgent(name: string, registry: AgentRegistry): AgentError {
  const names = [...registry.keys()].join(', ');
  const message = `Cannot continue: the session was handed off to agent ${name}, but only these agents are known: ${names}`;
  return new AgentError('unknown_agent', message, { agent: name });
}
