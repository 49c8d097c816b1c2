import {
  type AskedApproval,
  checkForm,
  type FormQuestion,
  formDismissed,
  readForm,
} from '@millrace/core';
import { type FormEvent, useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { HelpIcon } from '../../design/icons.tsx';
import { Filled, useLabels } from '../../labels/use-labels.ts';
import type { AnswerTarget } from '../../session/session.ts';
import { useAnswerGate } from '../approval/answer-gate.ts';
import { VisibleText } from '../content/visible-text.tsx';
import { errorText } from '../state/error-text.ts';
import { answerOf, type Draft, initialDraft } from './question-draft.ts';
import { QuestionField } from './question-field.tsx';
import './question-card.css';

/** The properties of `QuestionCard`. */
export interface QuestionCardProps {
  readonly asked: AskedApproval;
  readonly form: FormQuestion;
  /** The number of further questions after this one. */
  readonly more: number;
  /** Receives the answer. Undefined if the user cannot answer. */
  readonly handle: AnswerTarget | undefined;
}

/**
 * A question that the user answers with a form: of the tool `ask_user`, or of an MCP server. The form comes
 * from a model or from another server, so its texts are shown as text, and its size has a limit.
 */
export function QuestionCard({ asked, form, more, handle }: QuestionCardProps) {
  const t = useLabels();
  const read = useMemo(() => readForm(form), [form]);
  const fields = read.ok ? read.fields : [];
  const [draft, setDraft] = useState<Draft>(() => initialDraft(fields));
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const [error, setError] = useState<string>();
  const [isSent, setSent] = useState(false);
  const card = useRef<HTMLElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const gate = useAnswerGate(bar);
  const [titleId, messageId] = [useId(), useId()];
  const isDisabled = handle === undefined || isSent;
  const isAnswerDisabled = isDisabled || !gate.isOpen;
  useFocusInside(card);
  const send = (work: (to: AnswerTarget) => Promise<unknown>) => {
    if (handle === undefined || isSent) return;
    gate.pass(() => {
      setSent(true);
      setError(undefined);
      work(handle).catch((reason: unknown) => {
        setSent(false);
        setError(errorText(reason, t));
      });
    });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!read.ok) return;
    const checked = checkForm(fields, answerOf(fields, draft));
    setProblems(checked.ok ? new Map() : checked.problems);
    if (checked.ok) return send((to) => to.approve(asked.toolCallId, { input: checked.content }));
    const first = fields.findIndex(({ name }) => checked.problems.has(name));
    card.current?.querySelectorAll<HTMLElement>('[data-field]')[first]?.focus();
  };
  const deny = (reason?: string) =>
    send((to) => to.deny(asked.toolCallId, reason === undefined ? {} : { reason }));
  return (
    <section
      className="approval question"
      ref={card}
      // Without an enabled field, the card itself must be reachable, because it can scroll.
      tabIndex={isDisabled ? 0 : -1}
      aria-labelledby={titleId}
    >
      <header>
        <HelpIcon />
        <h2 id={titleId}>
          <Filled
            text={t.toolAsks}
            parts={[
              <code key="name">
                <VisibleText text={asked.name} />
              </code>,
            ]}
          />
        </h2>
        {more > 0 && <span className="approval-more">{t.moreAfterThis(more)}</span>}
      </header>
      <p className="question-message" id={messageId}>
        <VisibleText text={form.message.slice(0, maxMessage)} escapes="directions" />
      </p>
      {!read.ok && <p className="input-note">{t.formNotShown(read.problem)}</p>}
      {/* The page checks the fields itself, because it shows the problems as text. */}
      <form className="question-form" noValidate aria-describedby={messageId} onSubmit={submit}>
        <div className="question-fields">
          {fields.map((field, at) => (
            <QuestionField
              key={field.name}
              {...{ field, isDisabled }}
              value={draft[at] ?? ''}
              problem={problems.get(field.name)}
              onChange={(value) => setDraft(draft.with(at, value))}
            />
          ))}
        </div>
        <div className="approval-bar" ref={bar}>
          <Button look="main" type="submit" disabled={isAnswerDisabled || !read.ok}>
            {read.ok && fields.length === 0 ? t.accept : t.send}
          </Button>
          <Button disabled={isAnswerDisabled} onClick={() => deny()}>
            {t.decline}
          </Button>
          <Button look="quiet" disabled={isAnswerDisabled} onClick={() => deny(formDismissed)}>
            {t.dismiss}
          </Button>
        </div>
      </form>
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/** Maximum length of the message. Records of other programs can be longer than the limit of forms. */
const maxMessage = 8000;

/** Moves the focus to the first field, unless the user works with something else. */
function useFocusInside(card: { readonly current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const { activeElement: active } = document;
    if (active !== null && active !== document.body) return;
    const first = card.current?.querySelector<HTMLElement>('[data-field]');
    (first ?? card.current)?.focus({ preventScroll: true });
  }, [card]);
}
