import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { drafts, useDraft } from '../composer/draft.ts';
import { errorText } from '../state/error-text.ts';
import './edit-form.css';

interface EditFormProps {
  /**
   * The key under which the browser stores the changed text. Closing the form does not lose the
   * text.
   */
  readonly draftKey: string;
  /** The text of the message. */
  readonly text: string;
  /** True if the message has files. With files, the text can be empty. */
  readonly hasFiles: boolean;
  /** Sends the changed message. The form stays open if the promise rejects. */
  readonly onSend: (text: string) => Promise<void>;
  readonly onClose: () => void;
}

/**
 * A field that replaces the message while the user edits it. If the user cancels, the changed text
 * is stored and appears on the next edit.
 */
export function EditForm({ draftKey, text: before, hasFiles, onSend, onClose }: EditFormProps) {
  const t = useLabels();
  const [stored, setStored] = useDraft(draftKey);
  const [isTouched, setTouched] = useState(false);
  const text = isTouched || stored !== '' ? stored : before;
  const [error, setError] = useState<string>();
  const [isSending, setSending] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);
  const isBlocked = isSending || (text.trim() === '' && !hasFiles);
  const submit = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (isBlocked) return;
    setSending(true);
    onSend(text.trim()).then(
      () => drafts.write(draftKey, ''),
      (reason: unknown) => {
        setSending(false);
        setError(errorText(reason, t));
      },
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) submit(event);
    if (event.key !== 'Escape') return;
    // The Escape key closes the form. It must not also stop the run.
    event.preventDefault();
    event.stopPropagation();
    onClose();
  };
  return (
    <form className="edit-form" onSubmit={submit}>
      <textarea
        ref={field}
        aria-label={t.editYourMessage}
        aria-describedby={hintId}
        dir="auto"
        readOnly={isSending}
        value={text}
        onChange={(event) => {
          setTouched(true);
          setStored(event.target.value);
        }}
        onKeyDown={onKeyDown}
      />
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
      <div className="edit-bar">
        <span className="edit-hint" id={hintId}>
          {t.editKeys}
        </span>
        <Button size="small" look="quiet" onClick={onClose}>
          {t.cancel}
        </Button>
        <Button size="small" look="main" type="submit" disabled={isBlocked}>
          {t.send}
        </Button>
      </div>
    </form>
  );
}
