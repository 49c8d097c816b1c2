import type { Client } from '@millrace/client';
import { type ReactNode, useState } from 'react';
import { Inspector } from '../inspector/inspector.tsx';
import { useLabels } from '../labels/use-labels.ts';
import { Chat } from '../session/chat.tsx';
import { useTaskSession } from '../session/task-session.ts';
import { type ElementContent, SessionElement } from './session-element.tsx';

/**
 * `<millrace-session src="https://agents.example/tasks/4f1c">` shows the conversation of a session. With
 * the attribute `controls`, the user can write, stop the run and answer questions.
 */
export class MillraceSessionElement extends SessionElement {
  protected content({ client, taskId, element }: ElementContent): ReactNode {
    const placeholder = element.getAttribute('placeholder') ?? undefined;
    const isReadOnly = !element.hasAttribute('controls');
    return <ElementChat key={taskId} {...{ client, taskId, isReadOnly, placeholder }} />;
  }
}

/** `<millrace-inspector src="…">` shows a session as a recording: spans, prompts, records and playback. */
export class MillraceInspectorElement extends SessionElement {
  protected content({ client, taskId }: ElementContent): ReactNode {
    return <ElementInspector key={taskId} {...{ client, taskId }} />;
  }
}

interface ElementProps {
  readonly client: Client;
  readonly taskId: string;
}

interface ElementChatProps extends ElementProps {
  readonly isReadOnly: boolean;
  readonly placeholder: string | undefined;
}

function ElementChat({ client, taskId, isReadOnly, placeholder }: ElementChatProps) {
  const t = useLabels();
  const session = useTaskSession(client, taskId, { isReadOnly });
  return <Chat {...{ session, placeholder }} emptyText={t.noMessagesYet} />;
}

function ElementInspector({ client, taskId }: ElementProps) {
  const [at, setAt] = useState<number>();
  return <Inspector {...{ client, taskId, at }} onMoment={setAt} />;
}

const elements = {
  'millrace-session': MillraceSessionElement,
  'millrace-inspector': MillraceInspectorElement,
} as const;

if (typeof customElements !== 'undefined')
  for (const [name, element] of Object.entries(elements))
    if (customElements.get(name) === undefined) customElements.define(name, element);
