import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { Settings } from '../contract/settings.ts';

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

/** Who may go on with a session: the agent that was asked, and all to whom it, or they, hand over. */
type Roster = ReadonlyMap<string, Settings>;

export function rosterOf(root: Settings): Roster {
  const found = new Map([[root.name, root]]);
  const origins = new Map([[root.name, root]]);
  for (const settings of found.values()) {
    for (const { handsOff } of settings.tools.values()) {
      if (handsOff === undefined) continue;
      const next = settingsOf(handsOff.to());
      const namesake = origins.get(next.name);
      if (namesake !== undefined && namesake !== next) throw taken(next.name);
      if (namesake !== undefined) continue;
      origins.set(next.name, next);
      found.set(next.name, inPlaceOf(root, next));
    }
  }
  return found;
}

/** What it says and does is its own; where that is kept and heard is the run's. */
function inPlaceOf(root: Settings, next: Settings): Settings {
  const { log, observers, limits, clock, ids, random, onDiagnostic, onInterrupted } = root;
  return { ...next, log, observers, limits, clock, ids, random, onDiagnostic, onInterrupted };
}

/** The one that has the session now. */
export function inCharge(roster: Roster, root: Settings, name: string | undefined): Settings {
  const settings = name === undefined ? root : roster.get(name);
  if (settings === undefined) throw unknown(name ?? '', roster);
  return settings;
}

function taken(name: string): AgentError {
  const message = `Cannot hand over to two agents of the name ${name}. Rename one`;
  return new AgentError('name_taken', message, { agent: name });
}

function unknown(name: string, roster: Roster): AgentError {
  const those = [...roster.keys()].join(', ');
  const message = `Cannot go on: the session was handed to ${name}, and here are only ${those}`;
  return new AgentError('unknown_agent', message, { agent: name });
}
