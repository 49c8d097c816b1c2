export { rowCases } from './row-cases.ts';
export type { RowCase, RowStore, RowSubject } from './row-subject.ts';
