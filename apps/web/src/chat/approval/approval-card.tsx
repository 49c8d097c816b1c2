import type { TaskHandle } from '@millrace/client';
import type { AskedApproval, ToolCallPart } from '@millrace/core';
import { type KeyboardEvent, type RefObject, useId, useState } from 'react';
import { ShieldIcon } from '../../design/icons.tsx';
import { InputView } from '../tool/input-view.tsx';
import { VisibleText } from '../tool/visible-text.tsx';
import { ChangeForm } from './change-form.tsx';
import { ChooseBar } from './choose-bar.tsx';
import { DenyForm } from './deny-form.tsx';
import { ScrollBody } from './scroll-body.tsx';
import './approval-card.css';

export interface ApprovalCardProps {
  readonly asked: AskedApproval;
  readonly call: ToolCallPart;
  /** How many others wait behind it. */
  readonly more: number;
  readonly handle: TaskHandle | undefined;
  /** Where it is, for whoever gives it the focus. */
  readonly card: RefObject<HTMLElement | null>;
}

type Mode = 'choose' | 'change' | 'deny';

/** May it run? As it is, with another input, or not. */
export function ApprovalCard({ asked, call, more, handle, card }: ApprovalCardProps) {
  const [mode, setMode] = useState<Mode>('choose');
  /** What was written and not sent, for whoever comes back to it. */
  const [changed, setChanged] = useState<string>();
  const [error, setError] = useState<string>();
  const [isSent, setSent] = useState(false);
  const titleId = useId();
  const { toolCallId, name, reason, rule } = asked;
  // A button that has the focus and is gone, or off, would leave it to nobody.
  const keepFocus = () => {
    if (card.current?.contains(document.activeElement)) card.current.focus();
  };
  const answer = (send: (to: TaskHandle) => Promise<unknown>) => {
    if (handle === undefined || isSent) return;
    keepFocus();
    setSent(true);
    send(handle).then(
      () => setError(undefined),
      (failure: unknown) => {
        setSent(false);
        setError(failure instanceof Error ? failure.message : String(failure));
      },
    );
  };
  const back = () => {
    keepFocus();
    setError(undefined);
    setMode('choose');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || mode === 'choose' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    back();
  };
  const isOff = handle === undefined || isSent;
  return (
    <section
      {...{ ref: card, className: 'approval', tabIndex: -1, onKeyDown }}
      aria-labelledby={titleId}
    >
      <header>
        <ShieldIcon />
        <h3 id={titleId}>
          Allow{' '}
          <code>
            <VisibleText text={name} />
          </code>
          ?
        </h3>
        {more > 0 && <span className="approval-more">{more} more after this</span>}
      </header>
      {mode !== 'change' && (
        <ScrollBody>
          {reason !== undefined && (
            <p className="approval-reason">
              <VisibleText text={reason} />
            </p>
          )}
          <AskedInput call={call} />
        </ScrollBody>
      )}
      {mode === 'choose' && (
        <ChooseBar
          {...{ rule, isOff }}
          onAllow={() => answer((to) => to.approve(toolCallId))}
          onAllowSession={() => answer((to) => to.approve(toolCallId, { until: 'session' }))}
          onChange={() => setMode('change')}
          onDeny={() => setMode('deny')}
        />
      )}
      {mode === 'change' && (
        <ChangeForm
          {...{ call, isOff, text: changed, onText: setChanged, onError: setError, onBack: back }}
          onInput={(input) => answer((to) => to.approve(toolCallId, { input }))}
        />
      )}
      {mode === 'deny' && (
        <DenyForm
          isOff={isOff}
          onBack={back}
          onDeny={(why) => answer((to) => to.deny(toolCallId, why === '' ? {} : { reason: why }))}
        />
      )}
      {handle === undefined && (
        <p className="approval-reason">This is the past: go back to now to answer.</p>
      )}
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/** All that it would run with, also where that is nothing. */
function AskedInput({ call: { name, input, arguments: text } }: Pick<ApprovalCardProps, 'call'>) {
  const isNone = input === undefined && text === '';
  return (
    <div className="approval-input">
      {isNone ? (
        <p className="input-note">What it would run with is not there to be shown.</p>
      ) : (
        <InputView name={name} input={input} text={text} />
      )}
    </div>
  );
}
