import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Item, type Part, type SessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { toHookCall } from './tool-names.ts';

/** Maximum number of items in the file. The oldest are left out. */
const maxItems = 2000;
const maxTextLength = 100_000;

/**
 * Writes transcripts of sessions as JSON lines, in the form of Claude Code, because hooks read them.
 * The files are in a private temporary folder that `close` deletes.
 */
export class TranscriptFiles {
  readonly #log: Log;
  readonly #cwd: string;
  #folder: Promise<string> | undefined;

  constructor(log: Log, cwd: string) {
    this.#log = log;
    this.#cwd = cwd;
  }

  /**
   * Returns the path of a session's transcript. The file exists, but it has only the content of the
   * last `write`. Returns undefined if the file cannot be created.
   */
  async path(session: string): Promise<string | undefined> {
    try {
      const path = await this.#path(session);
      await writeFile(path, '', { flag: 'a', mode: 0o600 });
      return path;
    } catch {
      return undefined;
    }
  }

  /** Writes the transcript of a session and returns its path. Returns undefined if this fails. */
  async write(session: string): Promise<string | undefined> {
    try {
      const state = await snapshot(this.#log, session as SessionId);
      const path = await this.#path(session);
      const lines = transcript(state)
        .slice(-maxItems)
        .map((item) => this.#line(item, session));
      await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
        mode: 0o600,
      });
      return path;
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  async #path(session: string): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'millrace-hooks-'));
    return join(await this.#folder, `${session.replace(/[^\w-]/g, '_')}.jsonl`);
  }

  #line({ id, kind, parts }: Item, session: string): object {
    const role = kind === 'assistant' ? 'assistant' : 'user';
    const content = parts.flatMap((part) => this.#content(part));
    const message = { role, content };
    return { type: role, uuid: id, sessionId: session, cwd: this.#cwd, message };
  }

  #content(part: Part): readonly object[] {
    switch (part.kind) {
      case 'text':
        return [{ type: 'text', text: part.text.slice(0, maxTextLength) }];
      case 'tool_call': {
        const { toolName, input } = toHookCall(part.name, parsed(part.arguments), {
          cwd: this.#cwd,
        });
        return [{ type: 'tool_use', id: part.toolCallId, name: toolName, input }];
      }
      case 'tool_result': {
        const { toolCallId, text, isError } = part;
        const content = text.slice(0, maxTextLength);
        return [{ type: 'tool_result', tool_use_id: toolCallId, content, is_error: isError }];
      }
      case 'reasoning':
      case 'structured':
      case 'media':
      case 'file':
      case 'custom':
        return [];
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
