import type {
  Attempt,
  DraftRecord,
  ExecutionId,
  JsonValue,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';
import { textOfError } from '../contract/agent-error.ts';
import { type OutputCommand, toolOutputKey } from '../contract/command.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall, Tool, ToolOutput, ValidationResult } from '../contract/tool.ts';
import { commandConsumed } from '../state/drafts.ts';
import { outputFor } from '../state/turn-calls.ts';
import { createResultPart, plainOutput } from './tool-result.ts';

interface ClientCallOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  /** Aborts when the run or the attempt of these calls stops. */
  readonly stop: AbortSignal;
  /** Returns the records that store the result of a call. */
  readonly fill: (call: ToolCallPart, part: ToolResultPart) => readonly DraftRecord[];
}

/** Handles the calls of one attempt that a client runs. Their outputs arrive as commands on the log. */
export class ClientCalls {
  readonly #options: ClientCallOptions;
  readonly #waiting = new Set<() => void>();

  constructor(options: ClientCallOptions) {
    this.#options = options;
  }

  /** Must be called after a command arrives. Each waiting call then checks whether its output is there. */
  wake(): void {
    for (const resume of [...this.#waiting]) resume();
  }

  /**
   * Waits for the output of a call and writes its result. If `input` is defined, it replaces the model's
   * input.
   */
  async answer(
    ready: CheckedToolCall,
    input: JsonValue | undefined,
  ): Promise<'answered' | 'parked' | 'left'> {
    const { context, at, stop } = this.#options;
    const { journal, settings } = context;
    const { toolCallId, name } = ready.call;
    if (!journal.loop.turn?.calls.get(toolCallId)?.isAwaited)
      await journal.write([
        { ...at, fact: { type: 'tool_output_asked', toolCallId, name, ...changed(input) } },
      ]);
    while (!stop.aborted) {
      const given = outputFor(journal.loop, toolCallId);
      if (given !== undefined) {
        if (await this.#take(ready, given.key, given.command)) return 'answered';
        continue;
      }
      if (settings.whileAsking === 'park') return 'parked';
      await this.#untilCommand();
    }
    return 'left';
  }

  /**
   * Writes the result from the output that a client sent. Returns false if the schema rejects the output and
   * the call continues to wait. If the output used the only key of the call, no further output can arrive, so
   * the model gets an error result.
   */
  async #take(ready: CheckedToolCall, key: string, given: OutputCommand): Promise<boolean> {
    const { context, at, fill } = this.#options;
    const { journal, settings } = context;
    const { call, tool, summary } = ready;
    const checked = await outputOf(tool, given);
    if (!checked.ok && !key.startsWith(toolOutputKey(call.toolCallId))) {
      const problem = `Dropped command ${key}: the output of call ${call.toolCallId} does not fit`;
      settings.onDiagnostic(problem);
      await journal.write([commandConsumed(key)]);
      return false;
    }
    const executionId = settings.ids.execution(call.toolCallId);
    const about = { toolCallId: call.toolCallId, name: call.name, executionId };
    const output = checked.ok
      ? checked.value
      : { text: `The output of the client does not fit:\n${checked.problem}`, isError: true };
    const part = await resultOf(call, tool, output, context, executionId);
    const { isError } = part;
    // The same write stores the result and then consumes the command. If the process dies in between, the
    // result is already stored.
    await journal.write([
      { ...at, fact: { type: 'tool_execution_started', ...about, summary } },
      ...fill(call, part),
      {
        ...at,
        fact: { type: 'tool_execution_finished', ...about, isError, outcome: 'completed' },
      },
      commandConsumed(key),
    ]);
    return true;
  }

  #untilCommand(): Promise<void> {
    const { stop } = this.#options;
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        stop.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      stop.addEventListener('abort', done);
    });
  }
}

function changed(input: JsonValue | undefined): { readonly input?: JsonValue } {
  return input === undefined ? {} : { input };
}

type CheckedOutput =
  | { readonly ok: true; readonly value: ToolOutput['output'] }
  | { readonly ok: false; readonly problem: string };

/**
 * Returns the output for the model, or the reason why the schema rejects it. An error text from the client is
 * not validated.
 */
async function outputOf(tool: Tool, { output, error }: OutputCommand): Promise<CheckedOutput> {
  if (error !== undefined) return { ok: true, value: { text: error, isError: true } };
  const checked = await validateOutput(tool, output ?? null);
  return checked.ok ? { ok: true, value: plainOutput(checked.value) } : checked;
}

/**
 * Validates an output that a client sent with the schema of the tool. If the schema throws, the output is
 * rejected.
 */
export async function validateOutput(
  { client }: Pick<Tool, 'client'>,
  output: OutputCommand['output'],
): Promise<ValidationResult> {
  try {
    return (await client?.validate(output ?? null)) ?? { ok: true, value: output };
  } catch (error) {
    return { ok: false, problem: `It could not be checked: ${textOfError(error)}` };
  }
}

async function resultOf(
  call: ToolCallPart,
  tool: Tool,
  output: ToolOutput['output'],
  { settings }: RunContext,
  executionId: ExecutionId,
): Promise<ToolResultPart> {
  const recorded = tool.client?.recorded?.(executionId);
  return recorded ?? createResultPart(call, output, tool, settings.log.blobs);
}
