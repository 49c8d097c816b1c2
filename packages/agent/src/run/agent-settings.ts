import type { Agent } from '../create-agent.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { Settings } from './settings.ts';

const known = new WeakMap<Agent, Settings>();

export function keepSettings(agent: Agent, settings: Settings): void {
  known.set(agent, settings);
}

/** What an agent goes by, for those who run it in another's place. */
export function settingsOf(agent: Agent): Settings {
  const settings = known.get(agent);
  if (settings === undefined) throw stranger(agent.name);
  return settings;
}

function stranger(name: string): AgentError {
  const message = `Cannot hand over to ${name}: it was not made with createAgent`;
  return new AgentError('bad_option', message, { agent: name });
}
