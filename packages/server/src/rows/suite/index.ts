export type { RowCase, RowStore, RowSubject } from './row-case.ts';
export { rowCases } from './row-cases.ts';
