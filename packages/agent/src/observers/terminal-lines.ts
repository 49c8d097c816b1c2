import type { AgentEvent, Stop } from '@millrace/core';
import type { Tone } from './terminal-text.ts';

export interface Line {
  readonly tone: Tone;
  readonly text: string;
}

/** What people are told of a fact, where it is worth a line. The text may be anything, and needs cleaning. */
export function lineOf(event: AgentEvent): Line | undefined {
  switch (event.type) {
    case 'attempt_superseded': {
      const which = `attempt ${event.attempt} is superseded (${event.reason})`;
      return { tone: 'mark', text: `↺ ${which}: what it said does not count` };
    }
    case 'retry_scheduled': {
      const { error, delayMs } = event;
      const wait = `once more in ${seconds(delayMs)}`;
      return { tone: 'mark', text: `↻ ${error.code}, ${wait}: ${error.message}` };
    }
    case 'error_reported':
      return { tone: 'bad', text: `✗ ${event.error.code}: ${event.error.message}` };
    case 'aborted':
      return { tone: 'mark', text: `■ aborted${because(event.reason)}` };
    case 'tool_call_rejected': {
      const { name, code, message } = event;
      return { tone: 'bad', text: `✗ ${name} was not run (${code}): ${message}` };
    }
    case 'approval_asked':
      return { tone: 'mark', text: `? ${event.name} waits for approval${because(event.reason)}` };
    case 'approval_answered': {
      const { name, decision, by, reason } = event;
      const who = by === undefined ? '' : ` by ${by}`;
      const done = decision === 'allow' ? 'allowed' : 'denied';
      return { tone: 'dim', text: `? ${name} was ${done}${who}${because(reason)}` };
    }
    case 'compacted':
      return { tone: 'dim', text: `≡ compacted ${event.itemIds.length} items` };
    case 'handed_off':
      return { tone: 'dim', text: `→ handed off to ${event.to}${because(event.reason)}` };
    case 'item_redacted':
      return { tone: 'mark', text: `⌫ something said before was redacted${because(event.reason)}` };
    case 'run_finished':
      return { tone: toneOf(event.stop), text: stopText(event.stop) };
    default:
      return undefined;
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

function stopText({ reason, raw, cause }: Stop): string {
  const more = [cause, raw === reason ? undefined : raw].filter((word) => word !== undefined);
  return `— ${reason}${more.length === 0 ? '' : ` (${more.join(', ')})`}`;
}

function toneOf({ reason }: Stop): Tone {
  if (reason === 'stop') return 'dim';
  return reason === 'error' ? 'bad' : 'mark';
}
