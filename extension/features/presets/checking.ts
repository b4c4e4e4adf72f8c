/** Checks the configuration of a debug run before anything is started. */

import { EaglerayError, isCancellation } from "../../common/errors";
import type { Composition } from "./messages";
import type { ConfigurationCheck } from "./review_model";

/** The values that `compose` returns, or its error; `previous` if the user cancels. */
export async function checkConfiguration(
  compose: () => Promise<Composition>,
  previous: ConfigurationCheck | undefined,
): Promise<ConfigurationCheck | undefined> {
  try {
    const { values } = await compose();
    return { values, error: "", nextStep: "" };
  } catch (error) {
    if (isCancellation(error)) {
      return previous;
    }
    if (!(error instanceof EaglerayError)) {
      throw error;
    }
    return { values: {}, error: error.message, nextStep: error.nextStep };
  }
}
