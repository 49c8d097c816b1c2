import type { ToolContext, ToolOutput } from '@millrace/agent';
import type { Output } from './command-output.ts';
import type { CommandEnd } from './run-command.ts';

type Blob = Awaited<ReturnType<ToolContext['blobs']['put']>>;

/** What came of a command, for the model and for programs. */
export function describeCommand(
  end: CommandEnd,
  output: Output,
  whole: Blob | undefined,
  timeoutMs: number,
): ToolOutput {
  const { exitCode, signal, why } = end;
  const isError = why !== 'exited' || exitCode !== 0;
  const notes = [
    endNote(end, timeoutMs),
    keptNote(output, whole),
    end.leftRunning > 0
      ? `Processes that it left running were stopped: ${end.leftRunning}. One that is to go on needs setsid.`
      : undefined,
    end.unstopped > 0 ? `Processes that could not be stopped: ${end.unstopped}.` : undefined,
  ].filter((note) => note !== undefined);
  const text = [
    output.text.trimEnd() || 'It printed nothing.',
    ...notes.map((note) => `[${note}]`),
  ];
  const wholeOutput = whole && { hash: whole.hash, length: whole.length };
  const value = {
    exitCode,
    signal,
    timedOut: why === 'timed_out',
    aborted: why === 'aborted',
    outputLength: output.length,
    droppedBytes: output.dropped,
    ...(wholeOutput && { wholeOutput }),
  };
  return {
    output: {
      text: text.join('\n'),
      value,
      isError,
      // A blob that no part refers to may be deleted. As the whole output it is not sent to the model.
      ...(whole && { attachments: [fileOf(whole)] }),
      ...(wholeOutput && { metadata: { wholeOutput } }),
    },
  };
}

function fileOf({ hash, length }: Blob) {
  const source = { type: 'blob', hash, length } as const;
  return { kind: 'file', name: 'output.txt', mimeType: 'text/plain', source } as const;
}

function endNote({ exitCode, signal, why }: CommandEnd, timeoutMs: number): string | undefined {
  switch (why) {
    case 'timed_out':
      return `It took longer than ${timeoutMs} ms and was stopped. Give it more by timeout_ms, or have it do less`;
    case 'aborted':
      return 'It was aborted before it was done';
    case 'exited':
      if (signal !== null) return `It was ended by ${signal}`;
      return exitCode === 0 ? undefined : `Exit code ${exitCode}`;
  }
}

function keptNote({ whole: bytes, dropped }: Output, whole: Blob | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  if (whole === undefined) return 'The whole output could not be kept';
  const what = dropped === 0 ? 'The whole output' : `The output but for its last ${dropped} bytes`;
  return `${what} is blob ${whole.hash}, ${whole.length} bytes`;
}
