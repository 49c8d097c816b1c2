/** What the stage's model says: a bit of everything that Markdown has. */
export const essay: string = `## What a millrace is

A **millrace** is the channel that carries a stream onto the wheel. Here the *stream* is what a model says, and the wheel is the agent loop.

1. Everything that is streamed becomes a numbered record.
2. Everything that is shown is a fold of those records:
   - what was said,
   - what was done,
   - what it cost.

| what | where | cost |
|---|---|---:|
| deltas | the log | 12 µs |
| the fold | in the page | 3 µs |
| a reconnect | anywhere | 0 words lost |

\`\`\`ts
import { createAgent } from '@millrace/agent';

/** Says hello, and waits for an answer. */
const agent = createAgent({ provider, tools: [look] });
for await (const event of agent.run('Hello').events) {
  if (event.type === 'assistant_text_delta') process.stdout.write(event.text);
}
\`\`\`

> A reader who leaves ends nothing: the run goes on, and whoever comes back has all of it.

- [x] tokens arrive
- [ ] nothing is lost

See [the protocol](https://example.com/protocol) for \`append_text\` and the rest.
`;

export const patch: string = `--- a/src/fold.ts
+++ b/src/fold.ts
@@ -12,7 +12,8 @@
 export function fold(state: State, record: LogRecord): State {
-  if (record.offset !== state.through + 1) throw new Error('gap');
-  return apply(state, record);
+  if (record.offset <= state.through) return state;
+  if (record.offset > state.through + 1) return gapAt(state, record);
+  return apply(state, record);
 }
 
 function apply(state: State, record: LogRecord): State {`;
