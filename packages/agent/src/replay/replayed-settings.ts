import type { BlobStore, Log } from '@millrace/log';
import type { Agent } from '../create-agent.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { Observer } from '../observers/observer.ts';
import { keepSettings, settingsOf } from '../run/agent-settings.ts';
import type { ApprovalDecision, PendingCall, Settings } from '../run/settings.ts';
import { callKey } from './recorded-calls.ts';
import { recordedIds } from './recorded-ids.ts';
import { replayedProviders } from './replayed-provider.ts';
import { replayedTool } from './replayed-tool.ts';
import { type Scene, turnOf } from './scene.ts';

/** What an agent goes by, with all that is outside of the loop taken from the recording. */
export function replayedSettings(
  settings: Settings,
  scene: Scene,
  observers: readonly Observer[],
): Settings {
  const cast = castOf(scene, observers);
  const { drive, stage } = scene;
  const tools = [...settings.tools].map(
    ([name, tool]) => [name, replayedTool(tool, scene, cast)] as const,
  );
  return {
    ...settings,
    providers: replayedProviders(scene, settings.name),
    tools: new Map(tools),
    instructions: undefined,
    contextFilters: [],
    log: asLog(scene),
    observers,
    approve: (call) => decided(scene, call),
    whileAsking: drive.whileAsking,
    onInterrupted: drive.onInterrupted,
    // Calls start when they started, and are put off for as long as they were.
    limits: { ...settings.limits, maxParallelTools: Number.POSITIVE_INFINITY },
    retry: { ...settings.retry, ...recordedDelays },
    clock: stage,
    ids: recordedIds({ ...scene.recording, drive, turn: () => turnOf(scene) }),
    random: () => 0,
  };
}

const recordedDelays = {
  baseDelayMs: 0,
  maxDelayMs: Number.POSITIVE_INFINITY,
  toolGraceMs: Number.POSITIVE_INFINITY,
};

/** Those to whom is handed over play too. */
function castOf(scene: Scene, observers: readonly Observer[]): (agent: Agent) => Agent {
  const known = new Map<Agent, Agent>();
  return function cast(agent) {
    const played = known.get(agent) ?? { ...agent };
    if (!known.has(agent)) {
      known.set(agent, played);
      keepSettings(played, replayedSettings(settingsOf(agent), scene, observers));
    }
    return played;
  };
}

async function decided(scene: Scene, { call }: PendingCall): Promise<ApprovalDecision> {
  const known = scene.recording.decisions.get(callKey(turnOf(scene), call.toolCallId));
  await scene.stage.reached(known?.after ?? Number.POSITIVE_INFINITY);
  return known?.decision ?? 'deny';
}

/** A run asks no more of a log than this. */
function asLog({ log }: Scene): Log {
  const refuse = () => Promise.reject(onlyPlayed());
  const rest = { submit: refuse, produce: refuse, info: refuse, list: refuse, settle: refuse };
  const more = { fork: refuse, restore: refuse, redact: refuse, delete: refuse };
  return {
    ...{ blobs: noBlobs, ...rest, ...more, close: async () => {} },
    open: (session) => log.open(session),
    read: (session, options) => log.read(session, options),
    follow: (session, options) => log.follow(session, options),
  };
}

/** What models are sent nobody reads here, so nothing is fetched for it. */
const noBlobs: BlobStore = {
  put: () => Promise.reject(onlyPlayed()),
  get: async () => undefined,
  slice: async () => undefined,
};

function onlyPlayed(): AgentError {
  return new AgentError('bad_option', 'Cannot do that with a recording: it is only played');
}
