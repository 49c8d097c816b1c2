import { AlertIcon, ClockIcon } from '../../design/icons.tsx';
import type { Notice } from '../state/notice.ts';

export function NoticeView({ notice }: { readonly notice: Notice }) {
  const { look, text, detail } = notice;
  return (
    <div className="notice" data-look={look}>
      {look === 'plain' ? <ClockIcon /> : <AlertIcon />}
      {detail === undefined ? (
        <span>{text}</span>
      ) : (
        <details>
          <summary>{text}</summary>
          <p>{detail}</p>
        </details>
      )}
    </div>
  );
}
