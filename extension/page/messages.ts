// Printed from pybackend/eagleray/page/messages.py by `npm run messages`; do not edit.
import { request, type Nothing } from "../common/wire";

export const EXPORT = request<PageToExport, Nothing>("eagleray/page/export");

/**
 * A page to write into one file.
 *
 * `page` names its script and style in `dist`.  `messages` is a JSON list of those that draw the page.
 */
export interface PageToExport {
  readonly path: string;
  readonly page: string;
  readonly title: string;
  readonly messages: string;
  readonly translations?: string;
}
