import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useLabels } from '../labels/use-labels.ts';
import { IconButton } from './button.tsx';
import { CrossIcon } from './icons.tsx';
import './dialog.css';

/** The properties of `Dialog`. */
export interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /**
   * Called to close the dialog. If undefined, the user cannot close the dialog without entering the
   * requested value.
   */
  readonly onClose?: (() => void) | undefined;
}

/** A native modal dialog. It keeps the focus, and Escape closes it. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const t = useLabels();
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    // By default, a browser focuses the first button, which closes the dialog. The focus moves to
    // the first field, so that the user can type immediately.
    const field = current?.querySelector<HTMLInputElement | HTMLTextAreaElement>('input, textarea');
    field?.focus();
    field?.setSelectionRange(field.value.length, field.value.length);
    return () => current?.close();
  }, []);
  const onClosed = () => {
    // On the second Escape, browsers close the dialog even if the page cancelled the event. If the
    // dialog cannot be closed, it opens again.
    const { current } = dialog;
    if (current === null || current.open) return;
    if (onClose) onClose();
    else current.showModal();
  };
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClose={onClosed}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {onClose && (
          <IconButton label={t.close} onClick={onClose}>
            <CrossIcon />
          </IconButton>
        )}
      </header>
      {children}
    </dialog>
  );
}
